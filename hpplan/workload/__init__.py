"""The batch: its document, the families that count its rows, samples, and micro-batches. No torch."""
