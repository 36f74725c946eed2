"""The counter of Fernhill Library: lendings, waiting lists, charges."""
