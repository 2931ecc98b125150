"""One picture for each kind of table: rows in, a Vega-Altair chart out."""
