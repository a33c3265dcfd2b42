"""Where leftovers are filed."""
