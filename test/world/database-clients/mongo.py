"""mongo.py URI DATABASE [COUNT]: writes a document and reads it, or writes COUNT documents of a million bytes.

Prints the document's name or the count, or the code of the server's error and its text; then the seconds that it took.
"""

import sys
import time

import pymongo
import pymongo.errors

begin = time.monotonic()
uri, database, *count = sys.argv[1:]
client = pymongo.MongoClient(uri, serverSelectionTimeoutMS=20000)
try:
    rows = client[database].python
    if count:
        print(len(rows.insert_many([{"_id": number, "text": "x" * 999900} for number in range(int(count[0]))]).inserted_ids))
    else:
        rows.insert_one({"name": "of python"})
        print(rows.find_one({"name": "of python"})["name"])
except pymongo.errors.OperationFailure as error:
    print(error.code, error.details["errmsg"])
print(round(time.monotonic() - begin, 3))
