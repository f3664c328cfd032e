"""KRaft: the metadata log replayed, voter sets, elections, and what the cluster looked like at any moment."""
