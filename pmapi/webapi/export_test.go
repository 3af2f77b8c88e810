package webapi

// Limits are the limits of a Gateway.
type Limits = limits

// Limit sets limits of g, before its first use, and returns g.
func Limit(g *Gateway, l Limits) *Gateway {
	g.limits = l
	return g
}
