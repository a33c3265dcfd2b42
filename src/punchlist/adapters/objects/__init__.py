"""Files of runs in an object store that many machines share."""
