"""What `import hpplan` offers and the commands do: documents, plans and routes, a file each."""
