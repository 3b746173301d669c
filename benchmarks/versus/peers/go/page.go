package main

import (
	"bytes"
	"html"
	"strings"
)

// linksIn returns the href of every <a> and <area> of a page, and that of its first <base>.
func linksIn(page []byte) (hrefs []string, base string) {
	for at := 0; ; {
		open := bytes.IndexByte(page[at:], '<')
		if open < 0 {
			return hrefs, base
		}
		at += open + 1
		if bytes.HasPrefix(page[at:], []byte("!--")) {
			end := bytes.Index(page[at+3:], []byte("-->"))
			if end < 0 {
				return hrefs, base
			}
			at += end + 6
			continue
		}
		start := at
		for at < len(page) && isLetter(page[at]) {
			at++
		}
		name := strings.ToLower(string(page[start:at]))
		if name == "" {
			continue
		}
		isWanted := name == "a" || name == "area" || name == "base"
		var href string
		href, at = attributes(page, at, isWanted)
		switch {
		case name == "base" && base == "":
			base = href
		case isWanted && name != "base" && href != "":
			hrefs = append(hrefs, href)
		case name == "script" || name == "style":
			end := bytes.Index(bytes.ToLower(page[at:]), []byte("</"+name))
			if end < 0 {
				return hrefs, base
			}
			at += end
		}
	}
}

// attributes passes over a start tag; it returns its href, if that is wanted, and where it ends.
func attributes(page []byte, at int, isWanted bool) (string, int) {
	href := ""
	for at < len(page) && page[at] != '>' {
		if isBlank(page[at]) || page[at] == '/' {
			at++
			continue
		}
		start := at
		for at++; at < len(page) && page[at] != '=' && page[at] != '>' && page[at] != '/' && !isBlank(page[at]); {
			at++
		}
		name := page[start:at]
		for at < len(page) && isBlank(page[at]) {
			at++
		}
		if at >= len(page) || page[at] != '=' {
			continue
		}
		for at++; at < len(page) && isBlank(page[at]); {
			at++
		}
		if at >= len(page) {
			break
		}
		var value []byte
		if quote := page[at]; quote == '"' || quote == '\'' {
			end := bytes.IndexByte(page[at+1:], quote)
			if end < 0 {
				return href, len(page)
			}
			value = page[at+1 : at+1+end]
			at += end + 2
		} else {
			start = at
			for at < len(page) && page[at] != '>' && !isBlank(page[at]) {
				at++
			}
			value = page[start:at]
		}
		if isWanted && href == "" && len(name) == 4 && bytes.EqualFold(name, []byte("href")) {
			href = html.UnescapeString(string(value))
		}
	}
	return href, at
}

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isBlank(c byte) bool {
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f'
}
