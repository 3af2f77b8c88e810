package logtext

import "github.com/pcp-go/pcp/internal/hashorder"

// HashOrder is the order in which tools of PCP 6.0.3 list an archive's metrics and instance
// domains: see hashorder.Of.
func HashOrder[K ~uint32](keys []K) []int { return hashorder.Of(keys) }
