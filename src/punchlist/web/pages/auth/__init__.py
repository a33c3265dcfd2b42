"""Sign-in and browser sessions."""
