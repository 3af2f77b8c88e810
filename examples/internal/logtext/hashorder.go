package logtext

import "github.com/pcp-go/pcp/internal/hashorder"

// HashOrder returns the order of an archive's metrics and instance domains in lists of PCP 6.0.3:
// see hashorder.Of.
func HashOrder[K ~uint32](keys []K) []int { return hashorder.Of(keys) }
