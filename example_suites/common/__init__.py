"""What the example suites have in common: columns, amounts, words, the desk, the knowledge base, the server."""
