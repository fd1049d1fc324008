module duplex

go 1.26.8
