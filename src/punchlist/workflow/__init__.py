"""The workflow language: a list of verbs, one loop form, one stop form."""
