package pmdumplog

import (
	"testing"
)

func TestFeatures(t *testing.T) {
	for features, want := range map[uint32]string{
		0x80000007:    "Archive features: 0x80000007 [unknown: bit_02 bit_01 bit_00]\n",
		4:             "Archive features: 0x4 [unknown: bit_02]\n",
		featureQA:     "Archive features: 0x80000000\n",
		1<<30 | 1<<10: "Archive features: 0x40000400 [unknown: bit_30 bit_10]\n",
	} {
		if got := string(appendFeatures(nil, features)); got != want {
			t.Errorf("%x: %q, want %q", features, got, want)
		}
	}
}
