"""What servers share beside the ledger, as files below the home folder."""
