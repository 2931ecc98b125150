"""The report: result folders as one page, as Markdown for a pull request, and as data."""
