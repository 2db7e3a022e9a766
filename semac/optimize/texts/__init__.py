"""Characters that are held as strings of length one, where nothing but comparisons and conversions sees them."""
