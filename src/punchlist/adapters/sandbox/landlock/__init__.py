"""What holds a child where bubblewrap does not work: Landlock, a filter of calls, a namespace."""
