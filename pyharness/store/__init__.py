"""Tables on disk: Parquet, the run's manifest, and the journal that a killed run resumes from."""
