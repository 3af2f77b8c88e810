package readme

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxPicture is how many bytes a picture of the README may have, so that it is there at once.
const maxPicture = 100 << 10

// TestLinks follows the links of the README within the repository: to files, small pictures among them, and to headings.
func TestLinks(t *testing.T) {
	text := regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`").ReplaceAllString(rootFile(t, "README.md"), "") // of code there are none
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(rootFile(t, "README.md"), -1) {
		anchor := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		anchors["#"+strings.ReplaceAll(anchor, " ", "-")] = true
	}
	links, pictures := 0, 0
	for _, link := range regexp.MustCompile(`(!?)\[[^]]*\]\(([^)]*)\)`).FindAllStringSubmatch(text, -1) {
		target := link[2]
		switch {
		case strings.Contains(target, "://"):
			continue
		case strings.HasPrefix(target, "#"):
			if !anchors[target] {
				t.Errorf("there is no heading %s", target)
			}
		default:
			info, err := os.Stat(filepath.Join(moduleRoot(t), target))
			if err != nil {
				t.Error(err)
			} else if link[1] != "" && info.Size() > maxPicture {
				t.Errorf("%s has %d bytes", target, info.Size())
			}
		}
		links++
		if link[1] != "" {
			pictures++
		}
	}
	if links < 10 || pictures == 0 {
		t.Errorf("found only %d links, %d of them pictures", links, pictures)
	}
}
