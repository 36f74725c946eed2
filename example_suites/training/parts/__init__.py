"""What the companies of the pool are made of: rows, tools, templates, words."""
