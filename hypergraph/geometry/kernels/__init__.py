"""Fast versions of definitions in :mod:`hypergraph.geometry`; :mod:`.dispatch` chooses between the two."""
