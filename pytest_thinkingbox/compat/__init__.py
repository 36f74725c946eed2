"""Tasks, servers and results in the file format of ThinkingBox, read and written without that package."""
