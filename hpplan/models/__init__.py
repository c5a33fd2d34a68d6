"""Models of Hugging Face transformers: what they consist of, and the frozen plans that follow from it.

The only package that imports transformers, and only when a model is built.
Everything that comes after `facts` is plain data and needs neither it nor torch.
"""
