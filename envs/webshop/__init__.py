"""WebShop: find a product by search and clicks, and buy it."""
