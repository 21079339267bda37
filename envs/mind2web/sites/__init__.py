"""Small web sites as data, one YAML file each, and the code that draws their rows and shows their pages."""
