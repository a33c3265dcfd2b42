"""Report formats that several analyzers write: lines, rdjson and SARIF."""
