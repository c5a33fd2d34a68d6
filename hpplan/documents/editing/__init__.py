"""Changes in the text of a document that leave the rest of it as it is."""
