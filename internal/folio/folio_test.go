package folio

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	text := `PCPFolio
Version: 1
# a comment
Created: on vm at Mon Nov 23 04:53:00 UTC 2026
Creator: pmchart view.conf
Archive:        web1   20261123
Archive:
Archive: web2
Archives: x
Archive: web3 /var/log/a b`
	want := Folio{
		Magic: true, Version: true, Creator: "pmchart", Config: "view.conf",
		Head:     []string{"Created: on vm at Mon Nov 23 04:53:00 UTC 2026", "Creator: pmchart view.conf"},
		Archives: []Archive{{6, "web1", "20261123"}, {7, "", ""}, {8, "web2", ""}, {10, "web3", "/var/log/a"}},
	}
	if diff := cmp.Diff(want, Parse([]byte(text))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Folio{}, Parse(nil)); diff != "" {
		t.Errorf("of nothing (-want +got):\n%s", diff)
	}
}
