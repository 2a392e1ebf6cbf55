package deploy_test

import (
	"regexp"
	"testing"
)

// A tag is moved whenever its publisher likes; a digest names the same bytes for
// ever. The tag beside it says what they are.
func TestTheImageIsBuiltFromWhatADigestNames(t *testing.T) {
	t.Parallel()
	bases := regexp.MustCompile(`(?m)^FROM (?:--platform=\S+ )?(\S+)`).FindAllStringSubmatch(read(t, "../Dockerfile"), -1)
	if len(bases) == 0 {
		t.Fatal("the image is built from nothing")
	}
	pinned := regexp.MustCompile(`^[a-z./-]+:[\w.-]+@sha256:[0-9a-f]{64}$`)
	for _, base := range bases {
		if base[1] != "scratch" && !pinned.MatchString(base[1]) {
			t.Errorf("%s is no name:tag@sha256:digest", base[1])
		}
	}
}
