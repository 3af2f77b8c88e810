package readme

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxPicture is the maximum size of a picture in bytes. A larger one loads slowly.
const maxPicture = 100 << 10

var (
	codeText    = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
	headingLine = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linkText    = regexp.MustCompile(`(!?)\[[^]]*\]\(([^)]*)\)`)
)

// TestLinks follows the links of each page to files, pictures and headings of this repository.
func TestLinks(t *testing.T) {
	runPages(t, func(t *testing.T, page, text string) {
		if path.Ext(page) != ".md" {
			t.Skip("the links of doc.go are names of packages")
		}
		links, pictures := 0, 0
		for _, link := range linkText.FindAllStringSubmatch(codeText.ReplaceAllString(text, ""), -1) {
			if strings.Contains(link[2], "://") {
				continue
			}
			links++
			if link[1] != "" {
				pictures++
			}
			checkLink(t, page, link[2], link[1] != "")
		}
		if page == "README.md" && (links < 10 || pictures == 0) {
			t.Errorf("found only %d links, %d of them pictures", links, pictures)
		}
	})
}

// checkLink checks a link of a page to a file, to a heading, or to a heading of another file.
func checkLink(t *testing.T, page, link string, picture bool) {
	t.Helper()
	file, heading, hasHeading := strings.Cut(link, "#")
	target := page
	if file != "" {
		target = path.Join(path.Dir(page), file)
	}
	info, err := os.Stat(filepath.Join(moduleRoot(t), filepath.FromSlash(target)))
	if err != nil {
		t.Error(err)
		return
	}
	if picture && info.Size() > maxPicture {
		t.Errorf("%s has %d bytes, more than %d", target, info.Size(), maxPicture)
	}
	if hasHeading && !anchors(rootFile(t, target))[heading] {
		t.Errorf("%s has no heading #%s", target, heading)
	}
}

// anchors returns the fragments that GitHub gives to the headings of a text.
func anchors(text string) map[string]bool {
	set := map[string]bool{}
	for _, heading := range headingLine.FindAllStringSubmatch(text, -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		set[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	return set
}
