"""Pull requests on GitHub, by its REST and GraphQL APIs."""
