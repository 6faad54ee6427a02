module github.com/stepkeeper/stepkeeper

go 1.26
