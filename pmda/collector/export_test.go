package collector

// What the tests in package collector_test need to know of the inside.

const (
	DefaultMaxPDU      = defaultMaxPDU
	DefaultMaxContexts = defaultMaxContexts
)

// MostProfiles is how many profiles are kept for the client that has the most.
func (s *Server) MostProfiles() int {
	most := 0
	for c := range s.clients.all() {
		most = max(most, len(c.profiles))
	}
	return most
}
