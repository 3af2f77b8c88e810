package pcptest

import "strings"

// typos are the spelling mistakes in the usage messages of PCP's tools that ours do not repeat.
var typos = strings.NewReplacer(
	"[defaily LOG_PDU_VERSION]", "[default LOG_PDU_VERSION]",
	"version for archive (default and only version is 2)", "version for archive (2 or 3); --version alone shows that of the program",
	"destintion", "destination",
	"regexusing", "regex using",
	"charcters", "characters",
)

// WithoutTypos returns the output of a PCP tool with corrected spelling.
func WithoutTypos(text string) string { return typos.Replace(text) }
