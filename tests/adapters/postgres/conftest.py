from fleet_databases import fleet_server, fleet_url, open_fleet

__all__ = ["fleet_server", "fleet_url", "open_fleet"]
