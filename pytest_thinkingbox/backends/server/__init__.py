"""What backends that live on a database server share."""
