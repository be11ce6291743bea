module tare/udf

go 1.21
