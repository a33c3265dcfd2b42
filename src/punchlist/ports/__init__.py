"""Ports: protocols of one to three methods for everything outside, and World, which holds them."""
