package main

import "strings"

type rule struct {
	path    string
	isAllow bool
}

type rules struct {
	list     []rule
	isClosed bool
}

// parseRobots returns the rules of the group that names the agent, or of the group for all (RFC 9309).
func parseRobots(text, agent string) *rules {
	agent = strings.ToLower(agent)
	own, everyone := &rules{}, &rules{}
	hasOwn, isNaming := false, false
	var groups []*rules
	for _, line := range strings.Split(text, "\n") {
		if at := strings.IndexByte(line, '#'); at >= 0 {
			line = line[:at]
		}
		key, value, isPair := strings.Cut(line, ":")
		if !isPair {
			continue
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "user-agent":
			if !isNaming {
				groups = nil
			}
			isNaming = true
			if value == "*" {
				groups = append(groups, everyone)
			} else if strings.HasPrefix(agent, strings.ToLower(value)) {
				groups, hasOwn = append(groups, own), true
			}
		case "allow", "disallow":
			isNaming = false
			if value != "" {
				for _, group := range groups {
					group.list = append(group.list, rule{value, key == "allow"})
				}
			}
		}
	}
	if hasOwn {
		return own
	}
	return everyone
}

// allow tells what the longest rule that matches says; an Allow wins over a Disallow as long.
func (r *rules) allow(target string) bool {
	if r.isClosed {
		return false
	}
	best, isAllowed := -1, true
	for _, one := range r.list {
		if len(one.path) < best || !matches(one.path, target) {
			continue
		}
		if len(one.path) > best || one.isAllow {
			best, isAllowed = len(one.path), one.isAllow
		}
	}
	return isAllowed
}

// matches tells whether a path with * and $ is a beginning of a target.
func matches(path, target string) bool {
	isWhole := strings.HasSuffix(path, "$")
	parts := strings.Split(strings.TrimSuffix(path, "$"), "*")
	if !strings.HasPrefix(target, parts[0]) {
		return false
	}
	rest := target[len(parts[0]):]
	if len(parts) == 1 {
		return !isWhole || rest == ""
	}
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(rest, part)
		if at < 0 {
			return false
		}
		rest = rest[at+len(part):]
	}
	last := parts[len(parts)-1]
	if isWhole {
		return strings.HasSuffix(rest, last)
	}
	return strings.Contains(rest, last)
}
