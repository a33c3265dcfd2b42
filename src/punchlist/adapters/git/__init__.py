"""Git: the user's checkout (read only), the workshop, work trees, commits, applying a branch."""
