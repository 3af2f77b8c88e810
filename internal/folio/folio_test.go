package folio

import (
	"testing"
	"time"

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
		Created:  "on vm at Mon Nov 23 04:53:00 UTC 2026",
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

func TestAppend(t *testing.T) {
	at := time.Date(2026, 11, 3, 4, 53, 0, 0, time.UTC)
	for _, tt := range []struct {
		form  Form
		folio Folio
		want  string
	}{
		{Recorded, Folio{Creator: "pmchart", Config: "s74qYw", Archives: []Archive{{Host: "127.0.0.1", Base: "s74qYw.127.0.0.1"}, {Host: "web-of-a-very-long-name.example.com", Base: "b"}}},
			`PCPFolio
Version: 1
# use pmafm(1) to process this PCP Archive Folio
#
Created: on vm at Tue Nov  3 04:53:00 2026
Creator: pmchart s74qYw
#               Host                    Basename
#
Archive:        127.0.0.1               s74qYw.127.0.0.1
Archive:        web-of-a-very-long-name.example.com b
`},
		{Made, Folio{Creator: "pmchart", Archives: []Archive{{Host: "gonzo", Base: "ok-foo"}}}, `PCPFolio
Version: 1
# use pmafm(1) to process this PCP archive folio
#
Created: on vm at Tue Nov  3 04:53:00 UTC 2026
Creator: pmchart
# ` + "\t\tHost\t\t\tBasename" + `
#
Archive:        gonzo                   ok-foo
`},
	} {
		tt.folio.Created = "on vm at " + at.Format(tt.form.Date)
		text := tt.form.Append(nil, tt.folio)
		if diff := cmp.Diff(tt.want, string(text)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		got := Parse(text)
		if got.Created != tt.folio.Created || got.Creator != tt.folio.Creator || got.Config != tt.folio.Config || len(got.Archives) != len(tt.folio.Archives) {
			t.Errorf("read back: %+v", got)
		}
	}
}
