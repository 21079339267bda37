"""Mind2Web: small web sites that answer."""
