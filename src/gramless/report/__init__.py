"""What the package shows of itself: experiments as values, tables and pictures of them."""
