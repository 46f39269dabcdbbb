import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import com.sun.management.OperatingSystemMXBean;
import org.jgroups.Address;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.ReceiverAdapter;
import org.jgroups.protocols.pbcast.NAKACK;
import org.jgroups.stack.ProtocolStack;

/**
 * One member of a measured JGroups group.
 *
 * <p>Arguments: cluster, members, bytes of a message, messages a second of the whole group (0 for no limit),
 * seconds of warming up, seconds measured. It prints one line of JSON, and leaves when its input ends.
 */
public final class Member extends ReceiverAdapter {
    private final AtomicLong delivered = new AtomicLong();
    private final AtomicLong sent = new AtomicLong();
    private final StabilityTimes stability = new StabilityTimes();
    private final JChannel channel = new JChannel("udp.xml");
    private final int members;
    private final int size;
    private final double rate;
    private final Acknowledgements acks;
    private volatile Address me;
    private volatile boolean isOver;

    private Member(int members, int size, double rate) throws Exception {
        this.members = members;
        this.size = size;
        this.rate = rate;
        acks = new Acknowledgements(channel, members - 1);
        ProtocolStack stack = channel.getProtocolStack();
        stack.insertProtocol(stability.new BelowNakack(), ProtocolStack.BELOW, NAKACK.class);
        stack.insertProtocol(stability.new AboveNakack(), ProtocolStack.ABOVE, NAKACK.class);
        channel.setReceiver(this);
    }

    public static void main(String[] args) throws Exception {
        double rate = Double.parseDouble(args[3]);
        Member member = new Member(Integer.parseInt(args[1]), Integer.parseInt(args[2]), rate);
        member.run(args[0], Double.parseDouble(args[4]), Double.parseDouble(args[5]));
    }

    @Override
    public void receive(Message message) {
        if (message.getDest() != null && !message.getDest().isMulticastAddress()) {
            acks.acknowledged(message);
            return;
        }
        delivered.incrementAndGet();
        if (rate > 0 && !Acknowledgements.isFrom(message, me)) {
            try {
                acks.acknowledge(message);
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }
    }

    private void run(String cluster, double warmSeconds, double seconds) throws Exception {
        channel.connect(cluster);
        me = channel.getAddress();
        while (channel.getView().size() < members) {
            Thread.sleep(50);
        }
        Thread.sleep(500);
        Thread sender = new Thread(this::send, "sender");
        sender.setDaemon(true);
        sender.start();
        Thread.sleep((long) (1e3 * warmSeconds));
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        stability.begin(me);
        acks.begin();
        long began = System.nanoTime(), cpu = system.getProcessCpuTime();
        long deliveredBefore = delivered.get(), sentBefore = sent.get();
        Thread.sleep((long) (1e3 * seconds));
        double took = (System.nanoTime() - began) / 1e9;
        System.out.printf(
                Locale.ROOT,
                "{\"delivered_per_s\": %.1f, \"sent_per_s\": %.1f, \"cpu\": %.4f, \"stable_p50_ms\": %s,"
                        + " \"acks_p50_ms\": %s, \"members\": %d}%n",
                (delivered.get() - deliveredBefore) / took,
                (sent.get() - sentBefore) / took,
                (system.getProcessCpuTime() - cpu) / 1e9 / took,
                json(stability.percentileMs(0.5)),
                json(acks.percentileMs(0.5)),
                channel.getView().size());
        System.out.flush();
        isOver = true;
        while (System.in.read() >= 0) {
            // the others may still be measuring
        }
        System.exit(0);
    }

    private static String json(double value) {
        return Double.isNaN(value) ? "null" : String.format(Locale.ROOT, "%.3f", value);
    }

    private void send() {
        try {
            long gap = rate > 0 ? (long) (1e9 * members / rate) : 0, at = System.nanoTime();
            for (int number = 0; gap == 0 || !isOver; number++) {
                byte[] payload = new byte[size];
                if (gap > 0) {
                    at += gap;
                    while (System.nanoTime() < at) {
                        LockSupport.parkNanos(at - System.nanoTime());
                    }
                    ByteBuffer.wrap(payload).putInt(number);
                    acks.sent(number);
                }
                channel.send(new Message(null, null, payload));
                sent.incrementAndGet();
            }
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }
}
