package dbpmda

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmns"
)

// A vocabulary holds the words for generated commands of one agent.
type vocabulary struct {
	agent  string
	names  []string // of metrics
	ids    []pdu.PMID
	inner  []string // names that are not of metrics, and dynamic ones
	inDoms []pdu.InDom
	insts  []string // instance names and numbers
	values []string
	mute   *regexp.Regexp // lines that are not to be
}

// A generator makes command lines of a seed.
type generator struct {
	*rand.Rand
	vocabulary
	// own keeps to what is the agent's own: PCP's library lets agents answer for other domains.
	own bool
}

func newGenerator(seed uint64, v vocabulary) *generator {
	return &generator{Rand: rand.New(rand.NewPCG(seed, 0)), vocabulary: v}
}

// vocabularyOf adds the names of a file to a vocabulary.
func vocabularyOf(t *testing.T, v vocabulary, file string) vocabulary {
	t.Helper()
	tree, err := pmns.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	inner := map[string]bool{}
	for name, id := range tree.All() {
		if _, dynamic := id.IsDynamicRoot(); dynamic {
			inner[name] = true
			continue
		}
		v.names, v.ids = append(v.names, name), append(v.ids, id)
		for i := strings.LastIndexByte(name, '.'); i > 0; i = strings.LastIndexByte(name[:i], '.') {
			inner[name[:i]] = true
		}
	}
	v.inner = append(v.inner, slices.Sorted(maps.Keys(inner))...)
	return v
}

func pick[T any](g *generator, list []T) T { return list[g.IntN(len(list))] }

// of returns one of some words.
func (g *generator) of(words ...string) string { return pick(g, words) }

// percent is true that often.
func (g *generator) percent(n int) bool { return g.IntN(100) < n }

// metric returns a metric in one of the forms of the grammar, which may not exist.
func (g *generator) metric() string {
	id := pick(g, g.ids)
	n := g.IntN(100)
	if g.own {
		n = 60 * n / 100
	}
	switch {
	case n < 40:
		return pick(g, g.names)
	case n < 45:
		return fmt.Sprintf("%d.%d.%d", id.Domain(), g.IntN(3), g.IntN(1024))
	case n < 50:
		return pick(g, g.inner)
	case n < 60:
		return strconv.Itoa(int(uint32(id)))
	case n < 75:
		return id.String()
	case n < 80:
		return fmt.Sprintf("%d.%d", id.Cluster(), id.Item())
	case n < 90:
		return pick(g, g.names) + g.of(".x", "x", "-", ".", ":", "_0")
	}
	return g.number()
}

// number returns a number in any base and size, or a malformed number.
func (g *generator) number() string {
	return g.of("0", "1", "2", "7", "007", "12345", "2147483647", "2147483648", "4294967294", "4294967296", "99999999999",
		"0x0", "0x12", "0x40000000", "0x99999999", "0xff", "0X1", "1.", "1..2", "0.0", "1.2", "511.1", "512.4", "1.2.3", "511.4095.1023",
		"512.4096.1024", "1.2.3.4", "-0", "-5", "-2147483648", "-0x1", "+1", "1e3", "1.2.3x")
}

// inDom returns an instance domain in one of the forms of the grammar, which may not exist.
func (g *generator) inDom() string {
	dom := pick(g, g.inDoms)
	switch n := g.IntN(100); {
	case n < 75:
		return dom.String()
	case n < 80:
		return strconv.Itoa(int(uint32(dom)))
	case n < 90 || g.own:
		return fmt.Sprintf("%d.%d", dom.Domain(), g.IntN(20))
	}
	return g.number()
}

func (g *generator) quoted(s string) string {
	if q := g.of(`"`, `'`); !strings.Contains(s, q) {
		return q + s + q
	}
	return `"` + s + `"`
}

// instance returns an instance of an instance domain.
func (g *generator) instance() string {
	inst := pick(g, g.insts)
	switch n := g.IntN(100); {
	case n < 50:
		return inst
	case n < 80:
		return g.quoted(inst)
	}
	return g.number()
}

// fetch returns a command with one metric or more.
func (g *generator) fetch() string {
	line := "fetch " + g.metric()
	for g.percent(50) {
		line += g.of(" ", " ", " ", ",", ", ", " , ") + g.metric()
	}
	return line
}

func (g *generator) name() string {
	return g.of(pick(g, g.inner), pick(g, g.inner), pick(g, g.names), pick(g, g.names)+".x", "nosuch")
}

func (g *generator) label() string {
	switch g.IntN(6) {
	case 0:
		return "label " + g.of("context", "domain")
	case 1:
		return "label indom " + g.inDom()
	case 2:
		return "label instances " + g.inDom()
	case 3:
		id := pick(g, g.ids)
		return fmt.Sprintf("label cluster %d.%d", id.Domain(), g.either(id.Cluster(), g.IntN(5000)))
	case 4:
		if !g.own {
			return "label cluster " + g.number()
		}
	}
	return "label item " + g.metric()
}

func (g *generator) either(a, b int) int {
	if g.percent(70) {
		return a
	}
	return b
}

func (g *generator) attr() string {
	key := g.of(`"username"`, `"userid"`, `"groupid"`, `'container'`, `"processid"`, `"protocol"`, `"nosuch"`, "5", "11", "12", "13", "14", "15", "16", "17", g.number())
	return "attr " + key + g.of("", ` "1"`, ` '77'`, ` "fred"`, " fred", ` " "`)
}

// command returns a command with valid syntax. Its names and numbers may be unknown to the agent.
func (g *generator) command() string {
	switch n := g.IntN(100); {
	case n < 25:
		return g.fetch()
	case n < 33:
		return "store " + g.metric() + " " + g.quoted(pick(g, g.values))
	case n < 40:
		return "desc " + g.metric()
	case n < 45:
		return g.of("text "+g.metric(), "text indom "+g.inDom())
	case n < 53:
		return g.of("instance "+g.inDom(), "instance "+g.inDom()+" "+g.instance())
	case n < 62:
		return "profile " + g.inDom() + " " + g.of("all", "none", "add "+g.instance(), "delete "+g.instance(), "add "+g.number())
	case n < 70:
		return g.label()
	case n < 73:
		return g.of("pmid ", "children ", "traverse ") + g.name()
	case n < 75:
		return "name " + g.of(pick(g, g.ids).String(), g.metric())
	case n < 78:
		return g.attr()
	case n < 84:
		return g.of("getdesc ", "getiname ", "timer ") + g.of("on", "off")
	case n < 88:
		return g.of("status", "help", "?", "debug timecontrol", "debug -timecontrol", "debug none", "namespace ./root", "namespace root", "namespace nosuch")
	case n < 92:
		return g.of("attr", "children", "debug", "desc", "fetch", "getdesc", "getiname", "instance", "label", "name", "namespace", "open",
			"pmid", "profile", "store", "text", "timer", "traverse", "wait", "watch", "open dso", "open pipe", "open socket", "wait 0")
	}
	return g.of("", "# "+g.number(), "\t", "   ", g.fetch()+" # comment", "\t"+g.fetch(), g.fetch()+"\t \r", strings.ReplaceAll(g.fetch(), " ", "\t "))
}

var words = regexp.MustCompile(`\s+|"[^"]*"|'[^']*'|[^\s"']+|["']`)

// mutate changes some words or bytes of a line.
func (g *generator) mutate(line string) string {
	parts := words.FindAllString(line, -1)
	for range 1 + g.IntN(2) {
		if len(parts) == 0 {
			return line
		}
		i := g.IntN(len(parts))
		switch g.IntN(6) {
		case 0:
			parts = slices.Delete(parts, i, i+1)
		case 1:
			parts = slices.Insert(parts, i, parts[i], " ")
		case 2:
			j := g.IntN(len(parts))
			parts[i], parts[j] = parts[j], parts[i]
		case 3:
			parts[i] = g.of("on", "off", "all", "none", "add", "delete", "context", "domain", "indom", "item", "cluster", "instances", "fetch", "desc",
				"status", "?", "debug", "-pdu", g.number(), g.metric(), g.inDom(), `"x y"`, "")
		case 4:
			parts = slices.Insert(parts, i, g.of("@", "$", "%", "&", "*", "(", ")", "[", "{", "}", "{{", "<", "|", "\\", ";", ":", "~", "^", ".", "!", "?", "=", ",",
				"+", "-", "_", "/", "'", `"`, "#", "`", "\x01", "\x7f", "é", "\xff", "\v", "\f", "\r", "\t"))
		case 5:
			parts[i] = parts[i][:g.IntN(len(parts[i])+1)]
		}
	}
	return strings.Join(parts, "")
}

// Generated sessions have no lines that match these patterns.
var (
	// asksHelp matches requests for help on a command, whose texts are PCP's own.
	asksHelp = regexp.MustCompile(`^\s*help\s*\S|\?\s*\S|\S\s*\?`)

	// outside matches commands that end or delay the session, open another agent or print debug
	// output, except for the allowed ones.
	outside = regexp.MustCompile(`\b(quit|exit|q)\b|\b(wait|watch)\s+[\w"'./]|\bopen\s+\S+\s+\S|\bdebug\s*\S`)
	allowed = []string{"wait 0", "debug timecontrol", "debug -timecontrol", "debug none"}

	// crashes matches an instance domain that makes PCP's library loop forever, and a cluster that
	// crashes PCP's dbpmda.
	crashes = regexp.MustCompile(`\b(instances?|cluster)\s+(-0*1\b|4294967295|0x[fF]{8}|\d{19,})`)
)

// session is that many command lines.
func (g *generator) session(lines int) string {
	var b strings.Builder
	for n := 0; n < lines; {
		line := g.command()
		if !g.own && g.percent(20) {
			line = g.mutate(line)
		}
		if asksHelp.MatchString(line) || outside.MatchString(line) && !slices.Contains(allowed, line) || crashes.MatchString(line) || g.mute != nil && g.mute.MatchString(line) {
			continue
		}
		b.WriteString(line + "\n")
		n++
	}
	return b.String()
}
