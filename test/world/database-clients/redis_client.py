"""redis_client.py PORT [USER PASSWORD]: a value, a pipeline, a transaction and a message. Prints what came back."""

import sys

import redis

port, *account = sys.argv[1:]
login = {"username": account[0], "password": account[1]} if account else {}
client = redis.Redis(port=int(port), decode_responses=True, **login)
client.set("of-python", "seven")
pipeline = client.pipeline(transaction=False)
for number in range(100):
    pipeline.set(f"p{number}", number)
    pipeline.get(f"p{number}")
answers = pipeline.execute()
with client.pipeline(transaction=True) as transaction:
    transaction.incr("counter-of-python")
    transaction.incr("counter-of-python")
    counted = transaction.execute()
listener = client.pubsub()
listener.subscribe("news-of-python")
listener.get_message(timeout=10)
client.publish("news-of-python", "hello")
print(client.get("of-python"), answers[1::2] == [str(number) for number in range(100)], counted, listener.get_message(timeout=10)["data"])
