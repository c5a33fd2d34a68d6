"""One description of each document, from which checking, defaults, JSON Schema and writing come."""
