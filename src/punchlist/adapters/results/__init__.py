"""Stores outside of the state folder for the results of runs: a folder, or an S3 bucket."""
