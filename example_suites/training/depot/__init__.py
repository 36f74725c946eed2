"""Tidewell Parcels: the desk of a parcel depot."""
