"""The shop of the embedded domain: products and requests."""
