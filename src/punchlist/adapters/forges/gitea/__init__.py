"""Pull requests on Gitea and Forgejo, by their REST API."""
